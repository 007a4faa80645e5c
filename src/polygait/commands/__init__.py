"""What `polygait COMMAND` does: parse, call, print. Heavy imports happen inside the commands."""
