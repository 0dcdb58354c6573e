"""How far exploration moves the documents of a page."""

from rankloop.kernels import kernel


@kernel
def displacement_of_page(scores, page):
    """Mean |rank shown − rank by score| of a page; of equal scores the first candidate stands first."""
    total = 0
    for shown in range(page.size):
        document = page[shown]
        own, rank = scores[document], 0
        for other in range(scores.size):
            rank += scores[other] > own or (scores[other] == own and other < document)
        total += abs(rank - shown)
    return total / page.size
