import { describe, expect, test } from "vitest";
import { createRequest, followRedirect, formatRequest, formatUrl, type HttpRequest } from "./http-request.ts";

const address = { host: "10.0.0.7", port: 8080 };
const textOf = (request: HttpRequest) => {
  const formatted = formatRequest(request);
  return "text" in formatted ? formatted.text : formatted.problem;
};
const headers = (...pairs: [string, string][]) => pairs.map(([name, value]) => ({ name, value }));

test("sends the probe user agent and Connection: close", () => {
  expect(textOf(createRequest({ port: 8080, path: "/healthz" }, address))).toBe(
    "GET /healthz HTTP/1.1\r\nHost: 10.0.0.7:8080\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n" +
      "Connection: close\r\n\r\n",
  );
});

describe("950-7 headers", () => {
  const rows: [string, [string, string][], string[]][] = [
    [
      "are sent as given",
      [
        ["X-A", "1"],
        ["x-a", "2"],
      ],
      ["X-A: 1", "x-a: 2", "User-Agent: kube-probe/1.36", "Accept: */*"],
    ],
    [
      "replace the defaults",
      [
        ["user-agent", "me"],
        ["accept", "text/plain"],
      ],
      ["user-agent: me", "accept: text/plain"],
    ],
    [
      "without a value take the defaults away",
      [
        ["Accept", ""],
        ["User-Agent", ""],
      ],
      [],
    ],
    [
      "that belong to the connection are left out",
      [
        ["Connection", "keep-alive"],
        ["Content-Length", "5"],
        ["Transfer-Encoding", "chunked"],
      ],
      ["User-Agent: kube-probe/1.36", "Accept: */*"],
    ],
  ];
  test.each(rows)("%s", (_name, pairs, expected) => {
    const request = createRequest({ port: 1, httpHeaders: headers(...pairs) }, address);
    const lines = textOf(request).split("\r\n");
    expect(lines.slice(2, -3)).toEqual(expected);
  });

  test("uses a Host header of the probe", () => {
    const request = createRequest({ port: 1, httpHeaders: headers(["host", "shop.example"]) }, address);
    expect(textOf(request)).toContain("\r\nHost: shop.example\r\n");
    expect(formatUrl(request)).toBe("http://10.0.0.7:8080/");
  });

  test("rejects line breaks in names and values", () => {
    const bad = (name: string, value: string) =>
      textOf(createRequest({ port: 1, httpHeaders: headers([name, value]) }, address));
    expect(bad("X-A", "1\r\nX-B: 2")).toBe('net/http: invalid header field value for "X-A"');
    expect(bad("Host", "a\nb")).toBe("http: invalid Host header");
    expect(bad("X\r\nY", "1")).toBe('net/http: invalid header field name "X\\r\\nY"');
  });
});

test.each([
  ["/healthz?full=1&x=%20", "/healthz?full=1&x=%20"],
  ["healthz", "/healthz"],
  ["", "/"],
  ["/a b", "/a%20b"],
  ["/100%", "/100%25"],
  ["/é/\ud800", "/%C3%A9/%EF%BF%BD"],
  ["/a\r\nX: y", "/a%0D%0AX:%20y"],
  ["/a#b", "/a"],
  ["//other.example/x", "/x"],
  ["http://other.example/x?y", "/x?y"],
  ["/a/../b", "/a/../b"],
])("requests the path %j as %j", (path, expected) => {
  expect(createRequest({ port: 1, path }, address).path).toBe(expected);
});

test("formats IPv6 addresses in brackets", () => {
  const request = createRequest({ port: 1, scheme: "HTTPS" }, { host: "fd00::7", port: 443 });
  expect(formatUrl(request)).toBe("https://[fd00::7]:443/");
  expect(textOf(request)).toContain("Host: [fd00::7]:443\r\n");
});

describe("redirects", () => {
  const request = createRequest(
    { port: 8080, path: "/a/b", httpHeaders: headers(["Host", "shop"]) },
    address,
  );
  const follows: [string, Partial<HttpRequest>][] = [
    ["/login?x=1", { path: "/login?x=1", port: 8080, hostHeader: "shop" }],
    ["c", { path: "/a/c", hostHeader: "shop" }],
    ["http://10.0.0.7:9090/x", { path: "/x", port: 9090, hostHeader: undefined }],
    ["http://10.0.0.7/x", { port: 80 }],
    ["https://10.0.0.7/x", { port: 443, scheme: "https" }],
  ];
  test.each(follows)("to %s on the same host is followed", (location, expected) => {
    const redirect = followRedirect(request, location);
    expect(redirect.kind === "follow" && redirect.request).toMatchObject({ host: "10.0.0.7", ...expected });
  });

  test.each(["http://10.0.0.8:8080/", "//other.example/", "http://169.254.169.254/latest"])(
    "to %s is not followed",
    (location) => expect(followRedirect(request, location)).toEqual({ kind: "otherHost" }),
  );

  test("to an invalid location fails", () => {
    expect(followRedirect(request, "http://[")).toMatchObject({ kind: "broken" });
    expect(followRedirect(request, "ftp://10.0.0.7/")).toEqual({
      kind: "broken",
      problem: 'unsupported protocol scheme "ftp"',
    });
  });

  test("on an IPv6 address stays on it", () => {
    const six = createRequest({ port: 80 }, { host: "fd00::7", port: 80 });
    expect(followRedirect(six, "http://[fd00:0::7]/x")).toMatchObject({
      kind: "follow",
      request: { host: "fd00::7" },
    });
  });
});
