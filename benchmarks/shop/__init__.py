"""A shop and the people in it: how fast does a model that was made with the README's own words learn?"""
