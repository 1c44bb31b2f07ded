-- Nothing continues until somebody acts, although Nameplate keeps retrying.
local failed = {
  Expired = true,
  Failed = true,
  GatewayUnsuitable = true,
  IssuerNotAllowed = true,
  NoAnswer = true,
  NotAccepted = true,
  NotYetValid = true,
  Overdue = true,
  Refused = true,
  ServiceUnsuitable = true,
  WrongCertificate = true,
  WrongNames = true,
  WrongRedirect = true,
  WrongRoute = true,
}

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

local function is(type, value)
  return conditions[type] ~= nil and conditions[type].status == value
end

if ready.reason == "Paused" then
  hs.status = "Suspended"
elseif is("Stalled", "True") or status.state == "Degraded" or failed[ready.reason] then
  hs.status = "Degraded"
elseif is("Ready", "True") then
  hs.status = "Healthy"
elseif is("Accepted", "True") and (is("DNSVerified", "False") or is("Claimed", "False") or is("CAAAllowed", "False")) then
  -- Waiting for a person to change DNS.
  hs.status = "Suspended"
end
return hs
