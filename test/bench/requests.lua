-- wrk: sends the requests of a file one after the other, the first again after the last.
-- A line is a request, its line ends written as \1. Arguments: the file, how many of its requests to pass over.
dofile(debug.getinfo(1, 'S').source:match('^@(.*/)') .. 'report.lua')

local requests = {}
local first = 0

function init(args)
  for line in io.lines(args[1]) do table.insert(requests, (line:gsub('\1', '\r\n'))) end
  first = tonumber(args[2])
end

function request()
  sent = sent + 1
  return requests[(first + sent - 1) % #requests + 1]
end
