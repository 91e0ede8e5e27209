"""The problems of each kind: generic ones, every constant of which is a parameter, and ones that people solve."""
