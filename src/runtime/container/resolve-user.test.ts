import { expect, test } from "vitest";
import { resolveUser } from "./resolve-user.ts";

const files = {
  passwd: "root:x:0:0:root:/root:/bin/sh\nweb:x:101:102::/srv:/bin/false\nbroken\nodd:x:abc:1::/:/bin/sh\n",
  group: "root:x:0:root\nweb:x:102:\nlogs:x:200:web,other\ndisk:x:300:other\n",
};
const base = { user: "", group: undefined, supplementalGroups: [], mergeImageGroups: true };

test.each([
  ["root where nothing is said", base, { uid: 0, gid: 0, additionalGids: [0] }],
  ["a name", { ...base, user: "web" }, { uid: 101, gid: 102, additionalGids: [102, 200] }],
  ["a uid with an entry", { ...base, user: "101" }, { uid: 101, gid: 102, additionalGids: [102, 200] }],
  ["a uid without one", { ...base, user: "5000" }, { uid: 5000, gid: 0, additionalGids: [0] }],
  ["user and group", { ...base, user: "web:logs" }, { uid: 101, gid: 200, additionalGids: [200] }],
  ["uid and gid", { ...base, user: "7:8" }, { uid: 7, gid: 8, additionalGids: [8] }],
  ["run_as_group", { ...base, user: "web", group: 9 }, { uid: 101, gid: 9, additionalGids: [9, 200] }],
  [
    "strict groups",
    { ...base, user: "web", supplementalGroups: [77], mergeImageGroups: false },
    { uid: 101, gid: 102, additionalGids: [102, 77] },
  ],
])("%s", (_name, request, user) => {
  expect(resolveUser(request, files)).toEqual(user);
});

test.each([
  ["nobody", "user nobody is not in the image's /etc/passwd"],
  ["web:nogroup", "group nogroup is not in the image's /etc/group"],
  ["99999999999", "user 99999999999 is not in the image's /etc/passwd"],
  ["odd", "user odd is not in the image's /etc/passwd"],
])("%s is refused", (user, message) => {
  expect(() => resolveUser({ ...base, user }, files)).toThrow(message);
});
