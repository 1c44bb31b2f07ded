local actions = {}
actions["rotate"] = {["disabled"] = obj.spec.revoked == true}
return actions
