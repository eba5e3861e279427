-- wrk: counts what is sent, and ends with one line of JSON; latencies are pairs of microseconds and how often.
local threads = {}
sent = 0

function setup(thread) table.insert(threads, thread) end

function done(summary, latency)
  local pairs = {}
  for index = 1, #latency do
    local value, count = latency(index)
    table.insert(pairs, '[' .. value .. ',' .. count .. ']')
  end
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\n{"sent":%d,"failed":%d,"seconds":%f,"latencies":[%s]}\n',
    threads[1]:get('sent'), failed, summary.duration / 1e6, table.concat(pairs, ',')))
end
