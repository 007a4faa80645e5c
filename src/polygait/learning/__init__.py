"""One policy gets better: networks, acting, rollouts, advantages, PPO."""
