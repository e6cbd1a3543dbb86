import { expect, test } from "vitest";
import { StatusError } from "../../api/meta/status-error.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createPullReader } from "./pull-reader.ts";

const pod = { node: "n1", namespace: "shop", name: "web" };
const kubelet = "GET /api/v1/nodes/n1/proxy/imagePullProgress/shop/web";
const agent = "GET /api/v1/nodes/https:n1:10265/proxy/imagePullProgress/shop/web";
const account = "POST /api/v1/namespaces/kube-system/serviceaccounts/kindling-pull-reader/token";
const body = { pulls: [{ container: "c", image: "app:1", startedAt: "x", offset: 1, total: 2, layers: [] }] };
const notFound = () => new StatusError(404, "NotFound", "the server could not find the requested resource");
const forbidden = () => new StatusError(403, "Forbidden", "not allowed");

function setUp(responses: Readonly<Record<string, unknown>>) {
  const clock = createManualClock();
  const requests: string[] = [];
  const sent: unknown[] = [];
  const request = async (method: string, path: string, options?: { headers?: unknown; body?: unknown }) => {
    const key = `${method} ${path}`;
    requests.push(key);
    sent.push(options?.headers ?? options?.body);
    const response = responses[key] ?? notFound();
    if (response instanceof Error) throw response;
    return response;
  };
  const read = createPullReader({ client: { request: request as never }, clock });
  return { clock, requests, sent, read: () => read(pod, new AbortController().signal) };
}

test("3542-14 reads from Kindling's kubelet without asking for an agent", async () => {
  const { read, requests } = setUp({ [kubelet]: body });
  expect(await read()).toMatchObject(body.pulls);
  expect(requests).toEqual([kubelet]);
});

test("3542-14 reads from the agent of a node with another kubelet, with a token for agents only", async () => {
  const { read, requests, sent } = setUp({ [account]: { status: { token: "t" } }, [agent]: body });
  expect(await read()).toMatchObject(body.pulls);
  expect(await read()).toMatchObject(body.pulls);
  expect(requests).toEqual([kubelet, account, agent, agent]);
  expect(sent[1]).toMatchObject({ spec: { audiences: ["kindling-node-agent"], expirationSeconds: 600 } });
  expect(sent[2]).toEqual({ "kindling-node-agent-token": "t" });
});

test("3542-14 fails with the kubelet's error where there is no agent, or no token", async () => {
  const without = setUp({ [account]: { status: { token: "t" } } });
  await expect(without.read()).rejects.toThrow("could not find");
  const refused = setUp({ [account]: forbidden(), [agent]: body });
  await expect(refused.read()).rejects.toThrow("could not find");
  await expect(refused.read()).rejects.toThrow("could not find");
  expect(refused.requests).toEqual([kubelet, account, kubelet]);
});

test("3542-14 does not look for an agent if the kubelet rejects the request or does not know the pod", async () => {
  for (const error of [forbidden(), new StatusError(404, "NotFound", 'pod "web" does not exist')]) {
    const { read, requests } = setUp({ [kubelet]: error });
    await expect(read()).rejects.toBe(error);
    expect(requests).toEqual([kubelet]);
  }
});
