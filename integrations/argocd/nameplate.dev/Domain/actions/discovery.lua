local actions = {}
actions["verify"] = {["disabled"] = false}
return actions
