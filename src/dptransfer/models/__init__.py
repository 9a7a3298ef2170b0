"""Membership-mappings, autoencoders and the classifier, as scikit-learn estimators."""
