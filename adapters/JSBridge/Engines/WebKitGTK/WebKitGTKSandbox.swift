#if WebKitGTK
import CWebKitGTK

/// How the processes that run pages are sandboxed.
///
/// The sandbox is provided by bubblewrap. A sandboxed process has no files except the libraries, no access to other
/// processes, and no network except through WebKitGTK's network process.
public enum WebKitGTKSandbox: Sendable, Hashable {
    /// Sandboxes the processes if the system allows it. Otherwise, the engine logs a warning with the reason.
    case whereAllowed
    /// Requires a sandbox. If the system does not allow one, the run ends with ``JSBridgeError`` `noSandbox`.
    case required
    /// Disables the sandbox and logs a warning. Use this only for trusted pages.
    case off
}

/// Tests whether the system can sandbox the pages' processes. The test runs before WebKitGTK is asked to use a sandbox,
/// because WebKitGTK exits this process if it cannot.
@GLibThread
enum SandboxProbe {
    private static var known: String??

    /// Returns why no sandbox is available, or `nil` if there is one. The first call takes tens of milliseconds.
    static func problem() -> String? {
        if let known { return known }
        let found = probe()
        known = found
        return found
    }

    private static func probe() -> String? {
        if g_getenv("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS") != nil {
            return "the environment variable WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS turns it off"
        }
        if g_file_test("/.flatpak-info", G_FILE_TEST_EXISTS) != 0 || g_getenv("SNAP") != nil {
            return "the library has no sandbox inside Flatpak or Snap"
        }
        for program in ["bwrap", "xdg-dbus-proxy"] {
            guard let path = g_find_program_in_path(program) else {
                return "the program \(program) is not installed (packages bubblewrap and xdg-dbus-proxy)"
            }
            g_free(path)
        }
        return runBubblewrap()
    }

    /// Runs the command with which WebKitGTK checks whether it can use a sandbox.
    private static func runBubblewrap() -> String? {
        var (output, errors): (UnsafeMutablePointer<gchar>?, UnsafeMutablePointer<gchar>?)
        var status: gint = 0
        let command = "bwrap --ro-bind / / --proc /proc --dev /dev --unshare-all true"
        let hasRun = g_spawn_command_line_sync(command, &output, &errors, &status, nil) != 0
        defer {
            g_free(output)
            g_free(errors)
        }
        if hasRun && g_spawn_check_wait_status(status, nil) != 0 { return nil }
        let message = errors.map { String(cString: $0) } ?? ""
        let line = message.split(whereSeparator: \.isNewline).first.map { PageLogText.escaped(String($0)) }
        return "bwrap cannot create namespaces (\(line ?? "no reason given"))"
    }
}
#endif
