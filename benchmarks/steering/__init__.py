"""How far somebody who clicks for a vendor can steer a model, by their share of the traffic."""
