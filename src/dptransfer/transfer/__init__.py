"""From the owner's table to the adopter's predictions: release, align, learn, decide."""
