// rankloop.users.behaviour: who comes, and where they click.
#pragma once
#include "draws.cuh"
#include "layout.cuh"

DEVICE int who_comes(const People &people, uint64 seed, int64 impression) {
    if (people.people == 1) return 0;
    int64 before = 0;
    while (before + 1 < people.knot_count && people.knots[before + 1] <= impression) before++;
    const int64 after = before + 1 < people.knot_count ? before + 1 : people.knot_count - 1;
    double blend = 0.0;
    if (after > before && impression > people.knots[before])
        blend = static_cast<double>(impression - people.knots[before]) /
                static_cast<double>(people.knots[after] - people.knots[before]);
    const double draw = uniform(stream_key(seed, PEOPLE, impression), 0);
    double below = 0.0;
    int who = 0;
    for (int one = 0; one < people.people; one++) {
        const double share =
            (1.0 - blend) * people.shares[before * people.people + one] + blend * people.shares[after * people.people + one];
        if (share > 0.0 && draw >= below) who = one;
        below += share;
    }
    return who;
}

// What is known of each rank before anybody looks: lanes fill it, one of them goes down the page.
struct Looks {
    double seen[RANKS], draw[RANKS], patience[RANKS], after_click[RANKS], after_skip[RANKS];
};

// A person who comes alone, goes by grades and looks by rank: their tables, close at hand.
struct Person {
    double attraction[GRADES_SEEN], after_click[GRADES_SEEN], after_skip[GRADES_SEEN];
    double look[RANKS], plus[RANKS], minus[RANKS];
    double tilt;
    int alone, stops;
};

// Fills a person's tables, if they are such a one. `grades` is how many there are. One thread.
CALLED void meet(const People &people, int grades, Person &person) {
    person.alone = people.people == 1 && !people.by_row[0];
    for (int k = 0; k < people.ranks && person.alone; k++)
        for (int last = 1; last <= k; last++)
            if (people.look[k * (people.ranks + 1) + last] != people.look[k * (people.ranks + 1)]) person.alone = 0;
    if (!person.alone) return;
    for (int k = 0; k < people.ranks; k++) {
        person.look[k] = people.look[k * (people.ranks + 1)];
        person.plus[k] = people.plus[k];
        person.minus[k] = people.minus[k];
    }
    for (int grade = 0; grade < grades; grade++) {
        person.attraction[grade] = people.attraction[grade];
        person.after_click[grade] = people.after_click[grade];
        person.after_skip[grade] = people.after_skip[grade];
    }
    person.tilt = people.tilt[0];
    person.stops = people.stops[0];
}

// Fills `clicks` for a person who comes alone. One warp.
DEVICE void click_person(const Person &person, uint64 seed, int64 impression, const int *grades, int shown,
                         Looks &looks, double *clicks) {
    const int lane = lane_index();
    const uint64 key = stream_key(seed, USER, impression);
    const uint64 patience = person.stops ? stream_key(seed, PATIENCE, impression) : key;
#pragma unroll 1
    for (int k = lane; k < shown; k += LANES) {
        const int grade = grades[k];
        const double gamma = person.attraction[grade];
        const double seen = person.plus[k] * gamma + person.minus[k] * (1.0 - gamma);
        clicks[k] = uniform(key, k) < seen * person.look[k] ? 1.0 : 0.0;
        if (person.stops)
            looks.patience[k] = uniform(patience, k) < (clicks[k] > 0.0 ? person.after_click[grade] + person.tilt * gamma
                                                                        : person.after_skip[grade]);
    }
    warp_sync();
    if (person.stops) {
        // Whoever does not go on clicks no more.
        if (lane == 0) {
            bool looking = true;
#pragma unroll 1
            for (int k = 0; k < shown; k++) {
                if (!looking) clicks[k] = 0.0;
                looking = looking && looks.patience[k] > 0.0;
            }
        }
        warp_sync();
    }
}

// Fills `clicks` with 0 or 1; `first` is the row of the query's first candidate. One warp.
CALLED void click_people(const People &people, uint64 seed, int64 impression, const int *page, const int *grades,
                         int shown, int64 first, Looks &looks, double *clicks) {
    const int lane = lane_index();
    const int who = who_comes(people, seed, impression);
    const bool by_row = people.by_row[who], stops = people.stops[who];
    const double *attraction = people.attraction + people.begin[who];
    const uint64 key = stream_key(seed, USER, impression), patience = stream_key(seed, PATIENCE, impression);
#pragma unroll 1
    for (int k = lane; k < shown; k += LANES) {
        const int grade = grades[k];
        const double gamma = attraction[by_row ? first + page[k] : grade];
        const int64 at = who * people.ranks + k, of = who * GRADES_PEOPLE + grade;
        looks.seen[k] = people.plus[at] * gamma + people.minus[at] * (1.0 - gamma);
        looks.draw[k] = uniform(key, k);
        if (stops) {
            looks.patience[k] = uniform(patience, k);
            looks.after_click[k] = people.after_click[of] + people.tilt[who] * gamma;
            looks.after_skip[k] = people.after_skip[of];
        }
    }
    warp_sync();
    if (lane == 0) {
        const double *look = people.look + who * people.ranks * (people.ranks + 1);
        bool looking = true;
        int last = 0;
        for (int k = 0; k < shown; k++) {
            double clicked = 0.0;
            if (looking) {
                if (looks.draw[k] < looks.seen[k] * look[k * (people.ranks + 1) + last]) {
                    clicked = 1.0;
                    last = k + 1;
                }
                if (stops) looking = looks.patience[k] < (clicked > 0.0 ? looks.after_click[k] : looks.after_skip[k]);
            }
            clicks[k] = clicked;
        }
    }
    warp_sync();
}
