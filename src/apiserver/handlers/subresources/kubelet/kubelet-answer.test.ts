import { expect, test } from "vitest";
import { logRejected } from "./reach-kubelet.ts";

test.each([
  [500, "boom", "InternalError", "Internal error occurred: boom"],
  [400, "bad", "BadRequest", "bad"],
  [404, "404 page", "NotFound", "the server could not find the requested resource ( pods/log web)"],
  [403, "you may not", "Forbidden", "you may not ( pods/log web)"],
  [401, "", "Unauthorized", "the server has asked for the client to provide credentials ( pods/log web)"],
  [
    502,
    "oh",
    "InternalError",
    'an error on the server ("oh") has prevented the request from succeeding ( pods/log web)',
  ],
  [
    418,
    "teapot",
    "InternalError",
    "the server responded with the status code 418 but did not return more information ( pods/log web)",
  ],
])("%d %s", (code, text, reason, message) => {
  expect(logRejected(code, text, "web")).toMatchObject({ code, reason, message });
});
