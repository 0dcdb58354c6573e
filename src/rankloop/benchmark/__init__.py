"""What `rankloop bench` measures of this machine (`measuring`), on which data and against what (`yardsticks`)."""
