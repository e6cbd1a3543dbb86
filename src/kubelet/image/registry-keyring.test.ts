import { expect, test } from "vitest";
import { findLogins } from "./registry-keyring.ts";

/** Each server's login has the server as its user. */
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
])("%s with %j", (repository, servers, found) => {
  expect(find(repository, ...servers)).toEqual(found);
});

test("logins for one server keep the order of the pod's secrets", () => {
  const entry = (username: string) => ({ server: "quay.io", login: { username, password: "" } });
  const found = findLogins("quay.io/app", [entry("old"), entry("new")]);
  expect(found.map(({ username }) => username)).toEqual(["old", "new"]);
});
