import Logging
import Signalbox
import SignalboxCore

/// Never returns, also when it is cancelled: for trying what becomes of calls that hang.
struct SuspendPlugin: Plugin {
    let action: ActionName

    func callAsAction(_ info: RawBody, context: ActionContext) async {
        context.logger.notice("the plugin 'suspend' never returns")
        // Never resumed on purpose. An unsafe one, as a checked one would report the leak when the process ends.
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }
}
