import { expect, test } from "vitest";
import { findAddress, joinHostPort } from "./probe-handler.ts";

const container = {
  name: "c",
  image: "a",
  ports: [{ containerPort: 9 }, { name: "liveness-port", containerPort: 8080 }],
};
const target = { container, containerId: "x", ip: "10.0.0.7" };
const none = (message: string) => ({ kind: "none", outcome: { kind: "error", state: "unknown", message } });

const rows: [string, { host?: string; port: number | string }, object][] = [
  ["a port number", { port: 80 }, { host: "10.0.0.7", port: 80 }],
  ["950-7 a port name of the container", { port: "liveness-port" }, { host: "10.0.0.7", port: 8080 }],
  ["a host in the probe", { port: 80, host: "db.example" }, { host: "db.example", port: 80 }],
  ["an empty host", { port: 80, host: "" }, { host: "10.0.0.7", port: 80 }],
  ["an unknown name", { port: "web" }, none('port "web" not found')],
  ["a quoted number is a name", { port: "80" }, none('port "80" not found')],
  ["an invalid port number", { port: 65_536 }, none("invalid port number: 65536")],
];
test.each(rows)("%s", (_name, action, expected) => {
  expect(findAddress(action, target)).toMatchObject(expected);
});

test("a pod without an address cannot be probed", () => {
  expect(findAddress({ port: 80 }, { ...target, ip: undefined })).toEqual(none("the pod has no address yet"));
});

test("formats IPv6 addresses in brackets", () => {
  expect([joinHostPort("10.0.0.7", 80), joinHostPort("fd00::7", 80)]).toEqual([
    "10.0.0.7:80",
    "[fd00::7]:80",
  ]);
});
