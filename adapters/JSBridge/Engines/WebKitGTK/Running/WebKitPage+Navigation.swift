#if WebKitGTK
import AdapterThreads
import Logging
import NavigationChain
import SignalboxRoutes

extension WebKitPage {
    /// Answers the library's questions, each in its own time, until the page or the task ends; then they are refused.
    nonisolated func answerQuestions(_ gate: NavigationGate) async {
        await withDiscardingTaskGroup { group in
            for await question in questions {
                group.addTask { await self.answer(question, gate) }
            }
            group.cancelAll()
        }
        await stopAsking()
    }

    /// Not on the library's thread: handlers of the chain, and whoever hears of verdicts, may take their time.
    nonisolated private func answer(_ question: PolicyQuestion, _ gate: NavigationGate) async {
        let page = await currentURL
        let verdict = await gate.decide(question.text, kind: question.kind, frame: question.frame, page: page)
        await settle(question, verdict)
    }

    private var currentURL: URLText? { current.flatMap { try? URLText($0) } }

    private func settle(_ question: PolicyQuestion, _ verdict: NavigationVerdict) {
        switch (verdict.policy, question.kind) {
        case (.cancel, _):
            if current == nil { parts.log.say(.warning, "first", "the first page may not be loaded: \(verdict)") }
            answer(question, .refuse)
        case (.download, _), (.allow, .download):
            parts.log.say(.warning, "download", "something was to be stored, which this engine does not: \(verdict)")
            answer(question, .refuse)
        case (.allow, .newWindow):
            answer(question, .refuse)
            openHere(verdict)
        case (.allow, _):
            answer(question, .load)
        }
    }

    /// What a page wanted to open in a window of its own takes its place; it is asked about as every load is.
    private func openHere(_ verdict: NavigationVerdict) {
        guard let url = verdict.url, url.scheme == "http" || url.scheme == "https" else {
            parts.log.say(.warning, "window", "only pages of the web are loaded in place of a new window: \(verdict)")
            return
        }
        view?.load(url.text)
    }

    private func stopAsking() {
        asking.finish()
        refuseOpenQuestions()
    }
}
#endif
