{-# LANGUAGE OverloadedStrings #-}
-- Exchanges codes with the package hoauth2.
module Main (main) where

import Control.Monad (forM_)
import Control.Monad.Trans.Except (runExceptT)
import Data.Aeson
import qualified Data.ByteString.Lazy.Char8 as Lazy
import Data.Text (Text)
import Data.Text.Encoding (encodeUtf8)
import Network.HTTP.Client (defaultManagerSettings, newManager)
import Network.OAuth.OAuth2
import Network.OAuth.OAuth2.TokenRequest (fetchAccessTokenInternal)
import URI.ByteString (parseURI, strictURIParserOptions)

data Job = Job {jobId :: Text, auth :: Text, client :: OAuth2, code :: Text}

instance FromJSON Job where
  parseJSON = withObject "job" $ \o -> do
    token <- o .: "tokenUrl" >>= uri
    page <- o .: "pageUrl" >>= uri
    redirect <- o .: "redirectUri" >>= uri
    named <- OAuth2 <$> o .: "clientId" <*> o .: "clientSecret" <*> pure page <*> pure token <*> pure redirect
    Job <$> o .: "id" <*> o .: "auth" <*> pure named <*> o .: "code"
    where
      uri = either (fail . show) pure . parseURI strictURIParserOptions . encodeUtf8

main :: IO ()
main = do
  manager <- newManager defaultManagerSettings
  input <- Lazy.getContents
  jobs <- either fail pure (eitherDecode input)
  forM_ (jobs :: [Job]) $ \job -> do
    let method = if auth job == "basic" then ClientSecretBasic else ClientSecretPost
    answer <- runExceptT (fetchAccessTokenInternal method manager (client job) (ExchangeToken (code job)))
    Lazy.putStrLn $ encode $ case answer of
      Right token -> object ["id" .= jobId job, "token" .= atoken (accessToken token)]
      Left problem -> object ["id" .= jobId job, "error" .= show problem]
