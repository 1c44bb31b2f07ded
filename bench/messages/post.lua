-- For wrk: the benchmark's only request, sent by ACCOUNTS accounts in turn.
local accounts = tonumber(os.getenv("ACCOUNTS") or "1")
local requests, turn = {}, 0

wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = '{"message":"Order 4711 was paid; please send the receipt to the customer."}'

function init()
  for account = 0, accounts - 1 do
    wrk.headers["authorization"] = "Bearer a-key-for-the-benchmark-" .. account
    requests[account] = wrk.format(nil, "/messages")
  end
end

function request()
  turn = (turn + 1) % accounts
  return requests[turn]
end
