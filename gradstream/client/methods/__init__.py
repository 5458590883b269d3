"""The methods of `Client`, a class for each subject."""
