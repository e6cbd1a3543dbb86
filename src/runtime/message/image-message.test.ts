import { expect, test } from "vitest";
import { imageInfo } from "./image-message.ts";

const image = { id: "sha256:a", repoTags: [], repoDigests: [], size: 1, pinned: false };
const config = {
  user: "",
  env: ["PATH=/bin"],
  entrypoint: [],
  command: ["sh", "-c", "date"],
  workingDir: "",
  labels: { a: "b" },
  volumes: [],
  exposedPorts: ["80/tcp"],
};

test("what is inspected has OCI's names, and nothing that the image does not say", () => {
  const { info } = imageInfo({ ...image, config });
  expect(JSON.parse(info)).toEqual({
    imageSpec: {
      config: {
        ExposedPorts: { "80/tcp": {} },
        Env: ["PATH=/bin"],
        Cmd: ["sh", "-c", "date"],
        Labels: { a: "b" },
      },
    },
  });
});
