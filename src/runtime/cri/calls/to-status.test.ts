import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { DriverError } from "../../drivers/driver.ts";
import { ImageError } from "../../errors/image-error.ts";
import { notFound, unimplemented } from "../../errors/runtime-error.ts";
import { NetworkError } from "../../networks/network.ts";
import { toStatus } from "./to-status.ts";

test.each([
  [notFound("sandbox", "x"), status.NOT_FOUND],
  [unimplemented("x"), status.UNIMPLEMENTED],
  [new DriverError("wrongState", "x"), status.FAILED_PRECONDITION],
  [new ImageError("noProgress", "x"), status.DEADLINE_EXCEEDED],
  [new ImageError("digestMismatch", "x"), status.UNKNOWN],
  [new NetworkError("noAddress", "x"), status.RESOURCE_EXHAUSTED],
  [new Error("x"), status.UNKNOWN],
  ["x", status.UNKNOWN],
])("%s", (error, code) => {
  expect(toStatus(error).code).toBe(code);
});
