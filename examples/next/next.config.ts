/** Ringback is loaded from node_modules, not bundled. */
export default { serverExternalPackages: ['ringback'] };
