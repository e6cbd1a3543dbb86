import { expect, test } from "vitest";
import { createEndpointChooser } from "./choose-endpoint.ts";

const a = { address: "10.0.0.1", port: 80 };
const b = { address: "10.0.0.2", port: 80 };
const endpoints = [a, b];

test("starts with a random endpoint and continues with the others", () => {
  expect(createEndpointChooser({ endpoints, affinitySeconds: undefined }, () => 0.6).choose("c", 0)).toEqual([
    b,
    a,
  ]);
  expect(createEndpointChooser({ endpoints: [], affinitySeconds: undefined }).choose("c", 0)).toEqual([]);
});

test("keeps a client at its endpoint until the timeout or until the endpoint is gone", () => {
  const chooser = createEndpointChooser({ endpoints, affinitySeconds: 10 }, () => 0);
  chooser.reached("c", b, 0);
  expect(chooser.choose("c", 9_999)[0]).toEqual(b);
  expect(chooser.choose("c", 10_000)[0]).toEqual(a);
  expect(chooser.choose("other", 0)[0]).toEqual(a);
  chooser.update({ endpoints: [a], affinitySeconds: 10 });
  expect(chooser.choose("c", 0)).toEqual([a]);
});
