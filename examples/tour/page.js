// A shop's page, as a web view would run it: `signalbox bridge` runs it without one.
const handlers = window.webkit.messageHandlers;

async function shop() {
    // One way: the handler's name is the action.
    handlers.loading.postMessage({ progress: 0.4 });

    // A call is answered with the plugin's reply, or with an error whose code gives the reason.
    const { receipt } = await signalbox.call("payment", { amount: 1299, currency: "EUR" });
    handlers.loading.postMessage({ progress: 1, receipt });

    try {
        await signalbox.call("restart");
    } catch (error) {
        console.log(`the page may not restart anything: ${error.code}`);
    }
}

shop();
