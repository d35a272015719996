"""Released forests in the forms of other programs, each made from the plain form alone."""
