import { expect, test } from "vitest";
import { parseEndpoint } from "./endpoint.ts";

test.each([
  ["http://127.0.0.1:2379", { secure: false, host: "127.0.0.1", port: "2379" }],
  ["https://etcd-0.example.com:443/", { secure: true, host: "etcd-0.example.com", port: "443" }],
  ["https://[::1]:1234", { secure: true, host: "::1", port: "1234" }],
  ["http://localhost", { secure: false, host: "localhost", port: "2379" }],
])("endpoint %s", (url, expected) => {
  expect(parseEndpoint(url)).toEqual(expected);
});

test.each(["127.0.0.1:2379", "", "ftp://a:1", "http://a:1/path", "http://user@a:1", "http://a:port"])(
  "rejects the endpoint %j",
  (url) => {
    expect(() => parseEndpoint(url)).toThrow(
      `etcd endpoint ${JSON.stringify(url)} must look like https://host:2379`,
    );
  },
);
