# Exchanges codes with the client libraries of Python, each used as its documentation says.
import asyncio
import json
import os
import sys

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def authlib(job):
    from authlib.integrations.requests_client import OAuth2Session

    session = OAuth2Session(
        job["clientId"],
        job["clientSecret"],
        redirect_uri=job["redirectUri"],
        token_endpoint_auth_method="client_secret_" + ("basic" if job["auth"] == "basic" else "post"),
    )
    pkce = {"code_verifier": job["verifier"]} if job["verifier"] else {}
    return session.fetch_token(job["tokenUrl"], code=job["code"], **pkce)["access_token"]


def requests_oauthlib(job):
    from requests.auth import HTTPBasicAuth
    from requests_oauthlib import OAuth2Session

    session = OAuth2Session(job["clientId"], redirect_uri=job["redirectUri"])
    if job["auth"] == "basic":
        client = {"auth": HTTPBasicAuth(job["clientId"], job["clientSecret"])}
    else:
        client = {"client_secret": job["clientSecret"], "include_client_id": True}
    pkce = {"code_verifier": job["verifier"]} if job["verifier"] else {}
    return session.fetch_token(job["tokenUrl"], code=job["code"], **client, **pkce)["access_token"]


def oauthlib(job):
    from urllib.request import Request, urlopen

    from oauthlib.oauth2 import WebApplicationClient

    client = WebApplicationClient(job["clientId"])
    url, headers, body = client.prepare_token_request(
        job["tokenUrl"],
        code=job["code"],
        redirect_url=job["redirectUri"],
        client_secret=job["clientSecret"],
        **({"code_verifier": job["verifier"]} if job["verifier"] else {}),
    )
    with urlopen(Request(url, body.encode(), headers)) as answer:
        return client.parse_request_body_response(answer.read().decode())["access_token"]


def oauth2client(job):
    from oauth2client.client import OAuth2WebServerFlow

    basic = None
    if job["auth"] == "basic":
        import base64

        pair = job["clientId"] + ":" + job["clientSecret"]
        basic = "Basic " + base64.b64encode(pair.encode()).decode()
    flow = OAuth2WebServerFlow(
        job["clientId"],
        client_secret=None if basic else job["clientSecret"],
        authorization_header=basic,
        scope="profile",
        redirect_uri=job["redirectUri"],
        auth_uri=job["pageUrl"],
        token_uri=job["tokenUrl"],
        pkce=job["verifier"] is not None,
        code_verifier=job["verifier"].encode() if job["verifier"] else None,
    )
    return flow.step2_exchange(job["code"]).access_token


def aiohttp_oauthlib(job):
    import aiohttp
    from aiohttp_oauthlib import OAuth2Session

    async def exchange():
        async with OAuth2Session(job["clientId"], redirect_uri=job["redirectUri"]) as session:
            if job["auth"] == "basic":
                client = {"auth": aiohttp.BasicAuth(job["clientId"], job["clientSecret"])}
            else:
                client = {"client_secret": job["clientSecret"], "include_client_id": True}
            pkce = {"code_verifier": job["verifier"]} if job["verifier"] else {}
            token = await session.fetch_token(job["tokenUrl"], code=job["code"], **client, **pkce)
            return token["access_token"]

    return asyncio.run(exchange())


for job in json.load(sys.stdin):
    try:
        outcome = {"token": globals()[job["library"].replace("-", "_")](job)}
    except Exception as error:
        outcome = {"error": repr(error)[:2000]}
    print(json.dumps({"id": job["id"], **outcome}), flush=True)
