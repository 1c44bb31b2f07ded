local hs = {status = "Progressing", message = "Waiting for Nameplate"}
local status = obj.status
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local ready = conditions["Ready"]
if ready == nil then
  return hs
end
hs.message = ready.message

local stalled = conditions["Stalled"]
if ready.reason == "Paused" then
  hs.status = "Suspended"
elseif (stalled ~= nil and stalled.status == "True") or ready.reason == "Refused" then
  hs.status = "Degraded"
elseif ready.status == "True" then
  hs.status = "Healthy"
end
return hs
