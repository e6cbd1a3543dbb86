/** Where a container of the host driver finds the programs that drop its privileges. */
export const toolsInside = "/dev/.kindling";

/** Inside; says that names are looked up in files, and nowhere else. */
export const nameServiceFile = `${toolsInside}/nss`;

/**
 * What the loader and the C library look at before a program does anything, and where they shall look instead. Inside
 * a container the first are the image's own files, but the programs carried there have all of root's capabilities until
 * the last of them has dropped these: a library named in one of the files would have them too. Names of the same
 * length, so that one fits into the place of the other; compilers keep the end of the socket's name elsewhere.
 */
export const instead = {
  "/etc/ld.so.preload": `${toolsInside}/no-`,
  "/etc/ld.so.cache": `${toolsInside}/c`,
  "/etc/nsswitch.conf": nameServiceFile,
  "/var/run/nscd/so": `${toolsInside}/n`,
  // Nothing is below a device: nobody is found by name, and ids are taken as numbers.
  "/etc/passwd": "/dev/zero/x",
  "/etc/group": "/dev/zero/",
};

/** The program or library with those names replaced; undefined when it has none of them. */
export function sealProgram(bytes: Buffer): Buffer | undefined {
  const sealed = Buffer.from(bytes);
  for (const [path, own] of Object.entries(instead)) {
    for (let at = sealed.indexOf(path); at !== -1; at = sealed.indexOf(path, at)) sealed.write(own, at);
  }
  return sealed.equals(bytes) ? undefined : sealed;
}
