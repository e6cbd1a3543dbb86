import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { Secret } from "../../api/meta/objects.ts";
import type { PullImageRequest } from "../../cri/generated/cri.ts";
import { grpc, setUpPuller } from "./image-puller.fixture.ts";
import { findLogins, readPullSecret } from "./pull-credentials.ts";

const secret = (name: string, ...logins: string[]): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  type: "kubernetes.io/dockerconfigjson",
  data: {
    ".dockerconfigjson": Buffer.from(
      JSON.stringify({
        auths: Object.fromEntries(logins.map((login) => [login, { username: name, password: login }])),
      }),
    ).toString("base64"),
  },
});
const secrets = new Map([
  ["one", secret("one", "reg.io", "reg.io/team")],
  ["two", secret("two", "reg.io/team", "other.io")],
  ["bad", { ...secret("bad"), data: { ".dockerconfigjson": "" } }],
  ["broken", { ...secret("broken"), data: { ".dockerconfigjson": "eA==" } }],
]);
const getSecret = async (_namespace: string, name: string) => secrets.get(name);
const image = { image: "reg.io/team/app:1" };
const reject = ({ auth }: PullImageRequest): never => {
  throw grpc(status.UNAUTHENTICATED, `not ${auth?.username}`);
};

test("tries all matching logins, most specific first", async () => {
  const { ensure, failure, withProgress } = setUpPuller({ pull: reject }, { getSecret });
  const spec = { imagePullSecrets: [{ name: "one" }, { name: "" }, { name: "two" }] };
  expect(await failure(ensure(image, spec))).toBe(
    "ErrImagePull: [rpc error: code = Unauthenticated desc = not one, rpc error: code = Unauthenticated desc = not two]",
  );
  const tried = withProgress.map(({ request }) => [request?.auth?.username, request?.auth?.password]);
  expect(tried).toEqual([
    ["one", "reg.io/team"],
    ["two", "reg.io/team"],
    ["one", "reg.io"],
  ]);
});

test("stops at the first login that succeeds", async () => {
  const pull = (request: PullImageRequest, attempt: number) => (attempt === 0 ? reject(request) : "sha256:x");
  const { ensure, events, withProgress } = setUpPuller({ pull }, { getSecret });
  expect(await ensure(image, { imagePullSecrets: [{ name: "one" }] })).toBe("sha256:x");
  expect(withProgress).toHaveLength(2);
  expect(events.map((event) => event.split(" ")[1])).toEqual(["Pulling", "Pulled"]);
});

const gone =
  "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.";
const missingSecrets = { imagePullSecrets: [{ name: "gone" }, { name: "one" }, { name: "lost" }] };
test("records missing secrets if the pull fails", async () => {
  const failing = async (namespace: string, name: string) => {
    if (name === "lost") throw new Error("the API is away");
    return getSecret(namespace, name);
  };
  const { ensure, failure, events } = setUpPuller({ pull: reject }, { getSecret: failing });
  await failure(ensure(image, missingSecrets));
  expect(events).toContain(`Warning FailedToRetrieveImagePullSecret ${gone}`);
});

test("does not record missing secrets if the pull succeeds", async () => {
  const { ensure, events } = setUpPuller({}, { getSecret });
  await ensure(image, missingSecrets);
  expect(events.join()).not.toContain("FailedToRetrieveImagePullSecret");
});

test("a malformed secret fails the pull with its name; an empty one is ignored", async () => {
  const { ensure, failure, withProgress } = setUpPuller({}, { getSecret });
  expect(await failure(ensure(image, { imagePullSecrets: [{ name: "broken" }] }))).toMatch(
    /^ErrImagePull: .dockerconfigjson of pull secret "broken" is not/,
  );
  expect(withProgress).toHaveLength(0);
  await ensure({ image: "reg.io/other" }, { imagePullSecrets: [{ name: "bad" }] });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
const secretOfType = (type: string, key: string, text: string): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "pull", namespace: "default" },
  type,
  data: { [key]: base64(text) },
});
const json = (value: unknown) =>
  secretOfType("kubernetes.io/dockerconfigjson", ".dockerconfigjson", JSON.stringify(value));

const login = { username: "u", password: "p:q" };
test.each([
  [json({ auths: { "quay.io": { auth: base64("u:p:q") } } }), [{ server: "quay.io", login }]],
  [
    json({ auths: { "quay.io": { auth: base64("u:p:q").replace(/=+$/, "") } } }),
    [{ server: "quay.io", login }],
  ],
  [json({ auths: { "quay.io": { auth: "dTp\r\nwOnE=\n \n" } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": { username: "u", password: "p:q" } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": { username: "x", auth: base64("u:p:q") } } }), [{ server: "quay.io", login }]],
  [json({ auths: { "quay.io": {} } }), [{ server: "quay.io", login: { username: "", password: "" } }]],
  [json({ auths: {} }), []],
  [json({}), []],
  [
    secretOfType(
      "kubernetes.io/dockercfg",
      ".dockercfg",
      JSON.stringify({ "quay.io": { auth: base64("u:p:q") } }),
    ),
    [{ server: "quay.io", login }],
  ],
  [secretOfType("Opaque", ".dockerconfigjson", "{}"), []],
  [secretOfType("kubernetes.io/dockerconfigjson", "other", "{}"), []],
  [secretOfType("constructor", "name", "{}"), []],
])("parses the logins of a secret (%#)", (given, entries) => {
  expect(readPullSecret(given)).toEqual(entries);
});

const notJson = '.dockerconfigjson of pull secret "pull" is not a docker configuration in JSON';
const noLogin = '.dockerconfigjson of pull secret "pull" has no usable login for "quay.io"';
test.each([
  [secretOfType("kubernetes.io/dockerconfigjson", ".dockerconfigjson", "nope"), notJson],
  [json([]), notJson],
  [json({ auths: "x" }), notJson],
  [json({ auths: { "quay.io": "x" } }), noLogin],
  [json({ auths: { "quay.io": { auth: "%%%" } } }), noLogin],
  [json({ auths: { "quay.io": { auth: base64("no colon") } } }), noLogin],
  // Maximum size of a secret; must not backtrack.
  [json({ auths: { "quay.io": { auth: `${"\n".repeat(500_000)}%` } } }), noLogin],
  [json({ auths: { "quay.io": { username: 5 } } }), noLogin],
])("the error names the malformed secret (%#)", (given, message) => {
  expect(() => readPullSecret(given)).toThrow(message);
});

/** The user name of each login is its server. */
const find = (repository: string, ...servers: string[]) =>
  findLogins(
    repository,
    servers.map((server) => ({ server, login: { username: server, password: "" } })),
  ).map(({ username }) => username);

test.each([
  ["quay.io/team/app", ["quay.io"], ["quay.io"]],
  ["quay.io/team/app", ["https://quay.io"], ["https://quay.io"]],
  ["quay.io/team/app", ["http://quay.io/v2/"], ["http://quay.io/v2/"]],
  ["quay.io/team/app", ["quay.io/v1/team"], ["quay.io/v1/team"]],
  [
    "quay.io/team/app",
    ["quay.io", "quay.io/team", "quay.io/team/app"],
    ["quay.io/team/app", "quay.io/team", "quay.io"],
  ],
  ["quay.io/team/app", ["quay.io/other"], []],
  ["quay.io/teams/app", ["quay.io/team"], ["quay.io/team"]],
  ["quay.io/app", ["quay.io:443"], []],
  ["quay.io:5000/app", ["quay.io:5000", "quay.io"], ["quay.io:5000"]],
  ["a.quay.io/app", ["*.quay.io"], ["*.quay.io"]],
  ["a.b.quay.io/app", ["*.quay.io"], []],
  ["a.b.quay.io/app", ["*.*.quay.io"], ["*.*.quay.io"]],
  ["quay.io/app", ["*.io", "quay.io", "q*.io"], ["quay.io", "q*.io", "*.io"]],
  ["a.quay.io/app", ["*.quay.io/app", "*.quay.io/other"], ["*.quay.io/app"]],
  ["docker.io/library/busybox", ["https://index.docker.io/v1/"], ["https://index.docker.io/v1/"]],
  ["docker.io/library/busybox", ["index.docker.io"], ["index.docker.io"]],
  ["docker.io/library/busybox", ["docker.io"], ["docker.io"]],
  ["docker.io/team/app", ["docker.io/team", "index.docker.io"], ["docker.io/team"]],
  ["quay.io/app", ["index.docker.io"], []],
  ["[::1]:5000/app", ["[::1]:5000"], ["[::1]:5000"]],
  ["quay.io/app", ["", "https://", "[", "quay.io?x=1"], ["quay.io?x=1"]],
])("finds the logins for %s in %j", (repository, servers, found) => {
  expect(find(repository, ...servers)).toEqual(found);
});

test("logins for one server keep the order of the pod's secrets", () => {
  const entry = (username: string) => ({ server: "quay.io", login: { username, password: "" } });
  const found = findLogins("quay.io/app", [entry("old"), entry("new")]);
  expect(found.map(({ username }) => username)).toEqual(["old", "new"]);
});
