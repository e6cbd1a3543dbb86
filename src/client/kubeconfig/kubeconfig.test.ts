import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { contextNames, parseKubeconfig } from "./kubeconfig.ts";

const pem = (what: string) => Buffer.from(`-----BEGIN ${what}-----`).toString("base64");

function config(parts: { cluster?: object; user?: object; context?: object; top?: object } = {}): string {
  return stringify({
    "current-context": "prod-admin",
    contexts: [
      { name: "other", context: { cluster: "nowhere", user: "nobody" } },
      { name: "prod-admin", context: { cluster: "prod", user: "admin", ...parts.context } },
    ],
    clusters: [{ name: "prod", cluster: { server: "https://api.example:6443", ...parts.cluster } }],
    users: [{ name: "admin", user: { ...parts.user } }],
    ...parts.top,
  });
}

const parse = (text: string) => parseKubeconfig([{ text, path: "/etc/kube/config" }]);

describe("parseKubeconfig", () => {
  test("reads the current context's cluster and user", () => {
    const parsed = parse(
      config({
        cluster: { "certificate-authority-data": pem("CA"), "tls-server-name": "kubernetes" },
        user: { "client-certificate-data": pem("CERT"), "client-key": "keys/admin.key", token: "t" },
      }),
    );
    expect(parsed.server.href).toBe("https://api.example:6443/");
    expect(parsed).toMatchObject({
      serverName: "kubernetes",
      insecure: false,
      authority: { kind: "data", data: "-----BEGIN CA-----" },
      certificate: { cert: { kind: "data" }, key: { kind: "file", path: "/etc/kube/keys/admin.key" } },
      token: "t",
    });
  });

  test("resolves relative paths, and prefers data over files", () => {
    const parsed = parse(
      config({
        cluster: { "certificate-authority": "../ca.crt" },
        user: {
          "client-certificate": "/abs/cert",
          "client-certificate-data": pem("CERT"),
          "client-key-data": pem("KEY"),
          tokenFile: "token",
        },
      }),
    );
    expect(parsed.authority).toMatchObject({ kind: "file", path: "/etc/ca.crt" });
    expect(parsed.certificate?.cert.kind).toBe("data");
    expect(parsed.tokenFile).toBe("/etc/kube/token");
  });

  test("reads whom to impersonate", () => {
    const user = { as: "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": { scope: ["a", "b"] } };
    expect(parse(config({ user })).impersonation).toEqual({
      user: "jane",
      uid: "7",
      groups: ["dev"],
      extra: { scope: ["a", "b"] },
    });
    expect(parse(config({})).impersonation).toBeUndefined();
  });

  test("lists the contexts of all files once", () => {
    const file = (names: readonly string[]) => ({
      path: "/etc/kube/config",
      text: JSON.stringify({ contexts: names.map((name) => ({ name, context: {} })) }),
    });
    expect(contextNames([file(["a", "b"]), file(["b", "c"])])).toEqual(["a", "b", "c"]);
  });

  test("accepts a context without a user as anonymous", () => {
    expect(parse(config({ context: { user: "" } })).token).toBeUndefined();
  });

  test("reads a credential plugin, with a path relative to the file", () => {
    const plugin = {
      apiVersion: "client.authentication.k8s.io/v1beta1",
      command: "./login",
      args: ["--cluster", "prod"],
      env: [{ name: "PROFILE", value: "ops" }],
      installHint: "get it from the cloud",
    };
    expect(parse(config({ user: { exec: plugin } })).exec).toEqual({
      ...plugin,
      command: "/etc/kube/login",
      env: { PROFILE: "ops" },
      field: 'users["admin"].user.exec',
    });
    expect(parse(config({ user: { exec: { command: "aws" } } })).exec?.command).toBe("aws");
  });

  test("reads the namespace of the context", () => {
    expect(parse(config({ context: { namespace: "shop" } })).namespace).toBe("shop");
  });

  test("merges several files: the first definition wins", () => {
    const first = {
      path: "/a/config",
      text: stringify({ users: [{ name: "admin", user: { token: "a" } }] }),
    };
    const second = {
      path: "/b/config",
      text: config({ user: { token: "b" }, cluster: { "certificate-authority": "ca" } }),
    };
    expect(parseKubeconfig([first, second])).toMatchObject({
      token: "a",
      authority: { path: "/b/ca" },
    });
  });

  test("selects another context", () => {
    const text = config({
      top: {
        clusters: [{ name: "nowhere", cluster: { server: "https://other" } }],
        users: [{ name: "nobody" }],
      },
    });
    const files = [{ text, path: "/etc/kube/config" }];
    expect(parseKubeconfig(files, "other").server.href).toBe("https://other/");
    expect(() => parseKubeconfig(files, "none")).toThrow(
      /the requested context names "none", which is not in contexts; available: other, prod-admin$/,
    );
  });

  test.each<[string, string, RegExp]>([
    ["no mapping", "just text", /the file must be a mapping/],
    ["broken YAML", "a: [", /kubeconfig \/etc\/kube\/config: /],
    ["no current context", config({ top: { "current-context": "" } }), /current-context is not set: set it/],
    [
      "an unknown context",
      config({ top: { "current-context": "x" } }),
      /current-context names "x", which is not in contexts/,
    ],
    [
      "an unknown cluster",
      config({ context: { cluster: "x" } }),
      /contexts\["prod-admin"\]\.context\.cluster names "x", which is not in clusters/,
    ],
    ["an unknown user", config({ context: { user: "x" } }), /\.user names "x", which is not in users/],
    [
      "no server",
      config({ cluster: { server: "" } }),
      /clusters\["prod"\]\.cluster\.server: "" is not a URL/,
    ],
    ["a server without a scheme", config({ cluster: { server: "api:6443" } }), /write https:\/\/HOST:PORT/],
    [
      "a CA and insecure-skip-tls-verify",
      config({ cluster: { "certificate-authority": "ca", "insecure-skip-tls-verify": true } }),
      /mutually exclusive; remove one of them/,
    ],
    [
      "a CA that is not PEM",
      config({ cluster: { "certificate-authority-data": "eA==" } }),
      /is not base64-encoded PEM/,
    ],
    ["a proxy", config({ cluster: { "proxy-url": "http://proxy" } }), /proxies are not supported/],
    [
      "a certificate without a key",
      config({ user: { "client-certificate": "c" } }),
      /users\["admin"\]\.user\.client-key is not set, but client-certificate is/,
    ],
    ["a plugin without a command", config({ user: { exec: {} } }), /user\.exec\.command is not set: name/],
    [
      "an interactive plugin",
      config({ user: { exec: { command: "a", interactiveMode: "Always" } } }),
      /exec\.interactiveMode: interactive programs are not supported/,
    ],
    [
      "an auth provider",
      config({ user: { "auth-provider": { name: "gcp" } } }),
      /auth-provider: auth providers/,
    ],
    [
      "a password",
      config({ user: { username: "u", password: "p" } }),
      /username: passwords are not supported/,
    ],
    [
      "groups to impersonate without a user",
      config({ user: { "as-groups": ["admins"] } }),
      /users\["admin"\]\.user: a UID, groups and extra fields can only be impersonated with a user; set as/,
    ],
    [
      "a token that is not a string",
      config({ user: { token: 5 } }),
      /users\["admin"\]\.user\.token must be a string/,
    ],
    ["clusters that are not a list", config({ top: { clusters: {} } }), /clusters must be a list/],
    ["entries that are null", config({ top: { clusters: [null] } }), /which is not in clusters/],
  ])("rejects %s", (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});
