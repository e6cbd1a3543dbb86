import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { Secret } from "../../api/objects.ts";
import type { PullImageRequest } from "../../cri/generated/cri.ts";
import { grpc, setUpPuller } from "./image-puller.fixture.ts";

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
const refuse = ({ auth }: PullImageRequest): never => {
  throw grpc(status.UNAUTHENTICATED, `not ${auth?.username}`);
};

test("every login that fits is tried, the most specific first", async () => {
  const { ensure, failure, withProgress } = setUpPuller({ pull: refuse }, { getSecret });
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

test("the first that works ends it", async () => {
  const pull = (request: PullImageRequest, attempt: number) => (attempt === 0 ? refuse(request) : "sha256:x");
  const { ensure, events, withProgress } = setUpPuller({ pull }, { getSecret });
  expect(await ensure(image, { imagePullSecrets: [{ name: "one" }] })).toBe("sha256:x");
  expect(withProgress).toHaveLength(2);
  expect(events.map((event) => event.split(" ")[1])).toEqual(["Pulling", "Pulled"]);
});

const gone =
  "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.";
const missing = { imagePullSecrets: [{ name: "gone" }, { name: "one" }, { name: "lost" }] };
test("secrets that are not there are told of when the pull fails", async () => {
  const failing = async (namespace: string, name: string) => {
    if (name === "lost") throw new Error("the API is away");
    return getSecret(namespace, name);
  };
  const { ensure, failure, events } = setUpPuller({ pull: refuse }, { getSecret: failing });
  await failure(ensure(image, missing));
  expect(events).toContain(`Warning FailedToRetrieveImagePullSecret ${gone}`);
});

test("and not when it does well without", async () => {
  const { ensure, events } = setUpPuller({}, { getSecret });
  await ensure(image, missing);
  expect(events.join()).not.toContain("FailedToRetrieveImagePullSecret");
});

test("a malformed secret fails the pull and is named; an empty one is none", async () => {
  const { ensure, failure, withProgress } = setUpPuller({}, { getSecret });
  expect(await failure(ensure(image, { imagePullSecrets: [{ name: "broken" }] }))).toMatch(
    /^ErrImagePull: .dockerconfigjson of pull secret "broken" is not/,
  );
  expect(withProgress).toHaveLength(0);
  await ensure({ image: "reg.io/other" }, { imagePullSecrets: [{ name: "bad" }] });
});
