-- For wrk: the one request of the benchmark.
wrk.method = "POST"
wrk.headers["authorization"] = "Bearer a-key-for-the-benchmark"
wrk.headers["content-type"] = "application/json"
wrk.body = '{"message":"Order 4711 was paid; please send the receipt to the customer."}'
