-- wrk: one exchange per request, its code and client from a file of lines of equal length.
-- Arguments: the file, the first line to use, "json" or "form".
dofile(debug.getinfo(1, 'S').source:match('^@(.*/)') .. 'report.lua')

local lineLength = 62
function init(args)
  file = assert(io.open(args[1], 'r'))
  file:seek('set', tonumber(args[2]) * lineLength)
  form = args[3] == 'form'
  headers = { ['Content-Type'] = form and 'application/x-www-form-urlencoded' or 'application/json' }
end

function request()
  local line = assert(file:read('*l'), 'Out of codes: the server is faster than the benchmark expects.')
  local code, client = line:sub(1, 50), line:sub(52)
  local secret = 'a-secret-of-at-least-32-characters-for-' .. client
  local body
  if form then
    body = 'grant_type=authorization_code&code=' .. code ..
      '&redirect_uri=https%3A%2F%2Fclient.example%2Fcallback&client_id=' .. client .. '&client_secret=' .. secret
  else
    body = '{"grant_type":"authorization_code","code":"' .. code ..
      '","redirect_uri":"https://client.example/callback","client_id":"' .. client ..
      '","client_secret":"' .. secret .. '"}'
  end
  sent = sent + 1
  return wrk.format('POST', '/v4/oauth2/token', headers, body)
end
