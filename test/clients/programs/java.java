// Exchanges codes with the client library of Google for Java.
import com.google.api.client.auth.oauth2.AuthorizationCodeTokenRequest;
import com.google.api.client.auth.oauth2.ClientParametersAuthentication;
import com.google.api.client.http.BasicAuthentication;
import com.google.api.client.http.GenericUrl;
import com.google.api.client.http.HttpExecuteInterceptor;
import com.google.api.client.http.javanet.NetHttpTransport;
import com.google.api.client.json.gson.GsonFactory;
import java.util.List;
import java.util.Map;

class Exchange {
  public static void main(String[] args) throws Exception {
    var json = GsonFactory.getDefaultInstance();
    @SuppressWarnings("unchecked")
    List<Map<String, Object>> jobs =
        (List<Map<String, Object>>) (List<?>) new com.google.gson.Gson()
            .fromJson(new java.io.InputStreamReader(System.in), List.class);
    for (var job : jobs) {
      Map<String, Object> outcome;
      try {
        outcome = Map.of("id", job.get("id"), "token", exchange(job, json));
      } catch (Exception error) {
        outcome = Map.of("id", job.get("id"), "error", String.valueOf(error));
      }
      System.out.println(json.toString(outcome));
    }
  }

  static String exchange(Map<String, Object> job, GsonFactory json) throws Exception {
    var id = (String) job.get("clientId");
    var secret = (String) job.get("clientSecret");
    HttpExecuteInterceptor client =
        job.get("auth").equals("basic")
            ? new BasicAuthentication(id, secret)
            : new ClientParametersAuthentication(id, secret);
    var request =
        new AuthorizationCodeTokenRequest(
                new NetHttpTransport(), json, new GenericUrl((String) job.get("tokenUrl")), (String) job.get("code"))
            .setRedirectUri((String) job.get("redirectUri"))
            .setClientAuthentication(client);
    if (job.get("verifier") != null) request.set("code_verifier", job.get("verifier"));
    return request.execute().getAccessToken();
  }
}
