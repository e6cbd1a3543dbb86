import { expect, test } from "vitest";
import { findImage, type ImageStore, imageOf } from "./image-store.ts";

test("an image is found by reference, digest, id and the beginning of its id", () => {
  const image = imageOf("busybox:1.36", 5);
  const images: ImageStore = new Map([[image.id, image]]);
  const [byDigest = ""] = image.repoDigests;
  const names = [
    "busybox:1.36",
    "docker.io/library/busybox:1.36",
    byDigest,
    image.id,
    image.id.slice("sha256:".length),
    image.id.slice(0, 20),
  ];
  for (const name of names) expect(findImage(images, name), name).toBe(image);
  for (const name of ["busybox", "", "sha256:", "NO NAME"]) expect(findImage(images, name)).toBeUndefined();
});
