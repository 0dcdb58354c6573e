"""Does unbiased reward shaping help? The six rewards of the paper on one small world, in a few seconds."""

import rankloop as rl

data = rl.load("tiny")
for user in (rl.users.perfect(), rl.users.noisy()):
    print(f"{user.name} clicks")
    for reward in rl.rewards.REWARDS:
        run = rl.simulate(rl.ROLTR(reward=reward), user, data, impressions=5_000, seed=1)
        print(f"  {reward:8} online {run.online_ndcg:7.1f}   offline {run.offline_ndcg:.4f}")
