"""What every part of a model file is made of: checked parts, estimates, what is wrong with one."""
