-- Nothing continues until somebody acts, although Nameplate keeps retrying.
local failed = {
  CertificateExpired = true,
  CertificateFailed = true,
  GatewayUnsuitable = true,
  Refused = true,
  RouteNotAccepted = true,
  ServiceUnsuitable = true,
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

local stalled = conditions["Stalled"]
if ready.reason == "Paused" then
  hs.status = "Suspended"
elseif (stalled ~= nil and stalled.status == "True") or failed[ready.reason] then
  hs.status = "Degraded"
elseif ready.status == "True" then
  -- Custom domains wait for their owners' DNS. They do not change the health of the Project.
  hs.status = "Healthy"
  local domains = conditions["DomainsReady"]
  if domains ~= nil and domains.status ~= "True" then
    hs.message = hs.message .. " " .. domains.message
  end
end
return hs
