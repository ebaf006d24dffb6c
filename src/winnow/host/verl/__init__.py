"""winnow inside verl: the V1 trainer in sync mode, with a recipe in place of ``rollout.n`` equal rollouts.

Nothing here is called by hand: settings of verl name the parts (`setup` lists and checks them).

- `coordinator`: one actor that runs the step of a recipe for all agent loop workers; `play` is the step itself.
- `manager`, `worker`: verl's agent loops, which ask it what to generate.
- `replay`: verl's replay buffer, which keeps the rows that train.
- `advantage`: what each of them is worth, as an advantage estimator.
- `checkpoint`: what a recipe with state adds to verl's checkpoints.

`coordinator`, `play` and `setup` need neither verl nor Ray.
"""
