#if WebKitGTK
/// Whether the processes that run pages are shut in (bubblewrap: no files but the libraries, no other processes, no network
/// but through the library's network process).
public enum WebKitGTKSandbox: Sendable, Hashable {
    /// Shut in where the system allows it, and where it does not the log says so with its reason, as a warning.
    case whereAllowed
    /// Shut in, or the run ends with ``JSBridgeError`` `noSandbox`.
    case required
    /// Not shut in: for trusted pages alone. The log says so.
    case off
}
#endif
