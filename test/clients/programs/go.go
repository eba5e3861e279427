// Exchanges codes with golang.org/x/oauth2.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/oauth2"
)

type job struct {
	ID, TokenUrl, ClientId, ClientSecret, RedirectUri, Auth, Code string
	Verifier                                                      *string
}

func exchange(j job) (string, error) {
	style := map[string]oauth2.AuthStyle{
		"basic":    oauth2.AuthStyleInHeader,
		"body":     oauth2.AuthStyleInParams,
		"detected": oauth2.AuthStyleAutoDetect,
	}[j.Auth]
	config := oauth2.Config{
		ClientID:     j.ClientId,
		ClientSecret: j.ClientSecret,
		RedirectURL:  j.RedirectUri,
		Endpoint:     oauth2.Endpoint{TokenURL: j.TokenUrl, AuthStyle: style},
	}
	var options []oauth2.AuthCodeOption
	if j.Verifier != nil {
		options = append(options, oauth2.SetAuthURLParam("code_verifier", *j.Verifier))
	}
	token, err := config.Exchange(context.Background(), j.Code, options...)
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

func main() {
	var jobs []job
	if err := json.NewDecoder(os.Stdin).Decode(&jobs); err != nil {
		panic(err)
	}
	for _, j := range jobs {
		outcome := map[string]string{"id": j.ID}
		if token, err := exchange(j); err != nil {
			outcome["error"] = err.Error()
		} else {
			outcome["token"] = token
		}
		line, _ := json.Marshal(outcome)
		fmt.Println(string(line))
	}
}
