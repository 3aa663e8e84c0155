import JSBridge
import NavigationChain
import SignalboxCore
import Synchronization

/// Prints the page's navigation verdicts, and sends them to the page, which waits for them.
final class VerdictTeller: Sendable {
    private let screen: ShopScreen
    private let told = Mutex<PageHandle?>(nil)

    init(screen: ShopScreen) {
        self.screen = screen
    }

    /// The page that receives the verdicts.
    var page: PageHandle? {
        get { told.withLock { $0 } }
        set { told.withLock { $0 = newValue } }
    }

    func tell(_ verdict: NavigationVerdict) {
        guard let url = verdict.url else { return screen.told("no URL: \(verdict.reason)") }
        // The port differs between runs, so it is not printed.
        let shown = url.scheme == "http" ? url.path : url.text
        screen.told("\(verdict.policy) \(shown) by \(verdict.decider)")
        guard verdict.policy != .allow else { return }
        do {
            try page?.send("verdict", id: nil, body: BodyWriter.write(url.text))
        } catch {
            screen.told("the verdict was not sent: \(error)")
        }
    }
}
