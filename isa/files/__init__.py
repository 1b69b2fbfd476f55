"""Files that are not of this project's own kinds, and that programs and networks get their numbers from: numpy's."""
