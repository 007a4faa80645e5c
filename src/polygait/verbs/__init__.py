"""What `polygait VERB` does: parse, call, print. Heavy imports happen inside the verbs."""
